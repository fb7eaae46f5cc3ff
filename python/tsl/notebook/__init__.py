"""TSL in Jupyter notebooks: a kernel on ipykernel (pip install 'tsl[notebook]').

    python -m tsl.notebook install --sys-prefix     # for the notebooks of this environment
    jupyter lab
"""
