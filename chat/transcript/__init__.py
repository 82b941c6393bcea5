"""Display events become messages and requests here, and rows are written, kept and erased."""
