# cmake -DOUTPUT=FILE -DPAGES=a;b;c -P embed_pages.cmake: the files as one C++ source (memory/viewer/pages.hpp).
set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_svg "image/svg+xml")
set(arrays "")
set(table "")
set(number 0)
foreach(page ${PAGES})
  get_filename_component(name ${page} NAME)
  get_filename_component(ending ${page} LAST_EXT)
  string(SUBSTRING ${ending} 1 -1 ending)
  file(READ ${page} bytes HEX)
  string(LENGTH "${bytes}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
  string(APPEND arrays "constexpr char page_${number}[] = {\n${bytes}};\n")
  set(path "/${name}")
  if(name STREQUAL "index.html")
    set(path "/")
  endif()
  string(APPEND table "    {\"${path}\", \"${type_${ending}}\", {page_${number}, ${length}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT}.tmp "// Made from src/memory/viewer/pages.
#include \"memory/viewer/pages.hpp\"

namespace holdfast::memory {

namespace {

${arrays}
constexpr Page pages[] = {
${table}};

} // namespace

std::span<const Page> viewer_pages() {
    return pages;
}

} // namespace holdfast::memory
")
file(RENAME ${OUTPUT}.tmp ${OUTPUT})
