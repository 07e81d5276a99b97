"""Several tables of the same samples, some of which may be missing from some tables, and the kernels of all of them."""

from kernelweave.views.bank import ViewBank
from kernelweave.views.views import Views

__all__ = ["ViewBank", "Views"]
