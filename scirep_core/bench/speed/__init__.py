"""What training and encoding cost, measured."""
