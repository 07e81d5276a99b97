"""Files of tables, read as people write them: what was found in a file is said, and nothing is guessed quietly."""

from kernelweave.tabular.intake import FORMATS, read_table, read_tables
from kernelweave.tabular.problems import Problem, TableError, Way
from kernelweave.tabular.table_file import TableFile
from kernelweave.tabular.wishes import Wishes

__all__ = ["FORMATS", "Problem", "TableError", "TableFile", "Way", "Wishes", "read_table", "read_tables"]
