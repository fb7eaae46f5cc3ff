// Names that several files of a program share: what a module's top level declares, and what others import of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/names.h"

namespace tsl::analysis {

/// A file as it was read. The tree is valid until its text is read anew.
struct FileText {
  std::string path;  // without links
  std::string text;
  std::shared_ptr<const ast::Module> tree;
};

/// A name at the top level of a file.
struct SharedName {
  std::string file;  // its path
  Name name = nullptr;
  friend bool operator==(const SharedName&, const SharedName&) = default;
};

/// Returns what an import of a file's tree means; nothing if it is no file that can be read.
std::optional<FileText> imported_file(Names& names, const FileText& importer, const ast::ImportStmt& import);

/// Returns the files that some files import, and those that they import in turn, with the files themselves.
std::vector<FileText> with_imports(Names& names, std::vector<FileText> files);

/// Adds the files in the folder of the one that declares a name, if they may import it.
std::vector<FileText> with_neighbours(Names& names, std::vector<FileText> files, const SharedName& shared);

/// Returns the shared name that the byte at `offset` belongs to, in the file that declares it: of a top level, of an
/// import, or behind the dot of a module; nothing if there is none.
std::optional<SharedName> shared_name_at(Names& names, const FileText& file, size_t offset);

/// Returns where a file's top level declares a name; nothing if it does not, or imports it.
std::optional<Span> declaration_of(const Names& names, const FileText& file, Name name);

/// Returns where a file names it, in the order of the text: where it is declared, imported, and used.
std::vector<Span> places_of(Names& names, const FileText& file, const SharedName& shared);

}  // namespace tsl::analysis
