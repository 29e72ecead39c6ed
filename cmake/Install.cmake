# cmake --install build [--prefix WHERE] [--component NAME]: the components are `programs` (with the man page and the
# completions), `library` (src/capi) and `hermes` (adapters/hermes).
include(GNUInstallDirs)
install(TARGETS holdfast holdfast-keep holdfast-memory RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT programs)

if(NOT HOLDFAST_SANITIZE)
  # The program prints its own manual and completions, so these cannot differ from what it does.
  set(hf_printed)
  # hf_print(FILE DESTINATION word...): a file with what `holdfast word...` prints.
  function(hf_print file destination)
    set(made ${CMAKE_BINARY_DIR}/share/printed/${destination}/${file})
    get_filename_component(folder ${made} DIRECTORY)
    add_custom_command(OUTPUT ${made}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND $<TARGET_FILE:holdfast> ${ARGN} > ${made}
      DEPENDS holdfast VERBATIM)
    set(hf_printed ${hf_printed} ${made} PARENT_SCOPE)
    install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${destination} COMPONENT programs)
  endfunction()
  hf_print(holdfast.1 man/man1 manual)
  hf_print(holdfast bash-completion/completions completion bash)
  hf_print(_holdfast zsh/site-functions completion zsh)
  hf_print(holdfast.fish fish/vendor_completions.d completion fish)
  add_custom_target(printed_files ALL DEPENDS ${hf_printed})
endif()
