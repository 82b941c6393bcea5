"""What a browser meets: views, the page's socket, forms and who may reach what."""
