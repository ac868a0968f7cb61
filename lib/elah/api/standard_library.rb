# frozen_string_literal: true

# Owns the classes of the standard library that a declaration may name, or that few APIs use: each is loaded when it is first named,
# as all of them together would cost every worker 2.6 MB.
{ BigDecimal: "bigdecimal/util", CGI: "cgi/util", Date: "date", DateTime: "date", JSON: "json", Set: "set", Tempfile: "tempfile", URI: "uri" }
  .each { |name, feature| Object.autoload(name, feature) unless Object.const_defined?(name, false) }
