// Boost.JSON is used without its shared library: this file is where its code is compiled.
#include <boost/json/src.hpp>
