"""Ordinary PyTorch models, each with the formats and the regions that it is compiled with.

``FORMATS`` names the parameters, buffers and inputs that are stored sparse though PyTorch holds
them dense; tensors with a sparse layout need no format. ``REGIONS`` are the modules that become one
graph each.
"""
