// Boost.JSON is compiled here, once, from its headers; everybody else includes <boost/json.hpp> and links
// this.
#include <boost/json/src.hpp>
