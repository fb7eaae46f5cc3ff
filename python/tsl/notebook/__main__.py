"""python -m tsl.notebook install: makes "TSL" a kernel that Jupyter offers. With -f FILE, as Jupyter calls it, runs the kernel."""
import argparse
import json
import pathlib
import re
import sys
import tempfile

_MISSING = "notebooks need ipykernel: pip install 'tsl[notebook]' (Debian: python3-ipykernel)"


def install(arguments):
    """Writes the kernel's description to where Jupyter looks for kernels. Returns the folder."""
    from jupyter_client.kernelspec import KernelSpecManager
    spec = {"argv": [sys.executable, "-m", "tsl.notebook", "-f", "{connection_file}", f"--TslKernel.device={arguments.device}"],
            "display_name": "TSL", "language": "tsl", "interrupt_mode": "signal"}
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder).chmod(0o755)  # its copy is for all users
        pathlib.Path(folder, "kernel.json").write_text(json.dumps(spec, indent=1))
        prefix = sys.prefix if arguments.sys_prefix else arguments.prefix
        return KernelSpecManager().install_kernel_spec(folder, "tsl", user=arguments.user, prefix=prefix)


def device(text):
    """Checks the name of a device, which the kernel would refuse only when a notebook starts it."""
    if not re.fullmatch(r"cpu|cuda(:\d+)?", text):
        raise argparse.ArgumentTypeError(f"there is no device {text!r}: cpu, cuda, cuda:1")
    return text


def main():
    try:
        import ipykernel.kernelapp
    except ImportError:
        sys.exit(_MISSING)
    if sys.argv[1:2] != ["install"]:
        from .kernel import TslKernel
        ipykernel.kernelapp.IPKernelApp.launch_instance(kernel_class=TslKernel)
        return
    parser = argparse.ArgumentParser(prog="python -m tsl.notebook install", description="Offers TSL as a kernel of Jupyter.")
    place = parser.add_mutually_exclusive_group()
    place.add_argument("--user", action="store_true", help="for this user")
    place.add_argument("--sys-prefix", action="store_true", help="for this environment of Python")
    place.add_argument("--prefix", help="below this folder")
    parser.add_argument("--device", type=device, default="cpu", help="where tensors are made: cpu, cuda, cuda:1")
    try:
        print(f"Jupyter offers the kernel TSL: {install(parser.parse_args(sys.argv[2:]))}")
    except PermissionError as error:
        sys.exit(f"{error.filename} cannot be written: choose --user, or --sys-prefix in an environment of your own")


if __name__ == "__main__":
    main()
