"""Tables from files. What no option says is inferred from the file, and the notes of the table list it."""

from kernelweave.tabular.problems import Problem, TableError, Way
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.table_reader import FORMATS, read_table, read_tables

__all__ = ["FORMATS", "Problem", "ReadOptions", "TableError", "TableFile", "Way", "read_table", "read_tables"]
