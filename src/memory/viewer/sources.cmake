# The viewer's pages become part of the program: one C++ file, written anew when a page has changed.
set(pages_source ${CMAKE_BINARY_DIR}/viewer_pages.cpp)
file(GLOB pages CONFIGURE_DEPENDS ${here}/pages/*)
add_custom_command(OUTPUT ${pages_source}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${pages_source} "-DPAGES=${pages}" -P ${here}/embed_pages.cmake
  DEPENDS ${pages} ${here}/embed_pages.cmake VERBATIM)
list(APPEND sources ${pages_source})
