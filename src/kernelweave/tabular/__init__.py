"""Files of tables, read as people write them: what was found in a file is said, and nothing is guessed quietly."""

from kernelweave.tabular.problems import Problem, TableError, Way
from kernelweave.tabular.read_options import ReadOptions
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.table_reader import FORMATS, read_table, read_tables

__all__ = ["FORMATS", "Problem", "ReadOptions", "TableError", "TableFile", "Way", "read_table", "read_tables"]
