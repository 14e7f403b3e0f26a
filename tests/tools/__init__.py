"""The owner's tools: verify, trace, export, the doctor, the image."""
