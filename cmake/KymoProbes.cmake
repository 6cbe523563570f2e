# Makes scopes visible to other tools: finds the headers for NVTX ranges and USDT probes. Nothing is linked.

# kymo_find_nvtx(result): the folder of nvtx3/nvToolsExt.h in a CUDA toolkit or in Python's wheel nvidia-nvtx; empty if
# there is neither.
function(kymo_find_nvtx result)
  file(GLOB wheels
    "${PROJECT_SOURCE_DIR}/build/peers/lib/python3*/site-packages/nvidia/nvtx/include"
    "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/nvtx/include"
    "$ENV{HOME}/.local/lib/python3*/site-packages/nvidia/nvtx/include")
  find_path(KYMO_NVTX_INCLUDE nvtx3/nvToolsExt.h
    HINTS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda ${wheels}
    PATH_SUFFIXES include
    DOC "Folder of nvtx3/nvToolsExt.h")
  mark_as_advanced(KYMO_NVTX_INCLUDE)
  set(${result} "${KYMO_NVTX_INCLUDE}" PARENT_SCOPE)
  if(NOT KYMO_NVTX_INCLUDE)
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# kymo_find_usdt(result): the folder of sys/sdt.h; empty if not found.
function(kymo_find_usdt result)
  find_path(KYMO_USDT_INCLUDE sys/sdt.h DOC "Folder of sys/sdt.h")
  mark_as_advanced(KYMO_USDT_INCLUDE)
  set(${result} "${KYMO_USDT_INCLUDE}" PARENT_SCOPE)
  if(NOT KYMO_USDT_INCLUDE)
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# kymo_show_scopes(target): users of the target compile their scopes so that the enabled tools see them.
function(kymo_show_scopes target)
  foreach(tool IN ITEMS NVTX USDT)
    if(NOT KYMO_${tool})
      continue()
    endif()
    if(tool STREQUAL "NVTX")
      kymo_find_nvtx(folder)
    else()
      kymo_find_usdt(folder)
    endif()
    if(NOT folder)
      message(FATAL_ERROR "KYMO_${tool} is on, and its header is not found: install a CUDA toolkit or Python's nvidia-nvtx-cu12 "
        "for NVTX, systemtap-sdt-dev for USDT, or set KYMO_${tool}_INCLUDE to the folder it is in.")
    endif()
    target_compile_definitions(${target} INTERFACE KYMO_${tool})
    target_include_directories(${target} SYSTEM INTERFACE "${folder}")
  endforeach()
endfunction()
