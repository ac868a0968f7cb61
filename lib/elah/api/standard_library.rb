# frozen_string_literal: true

# Autoloads of the standard library's classes that a declaration may name, or that few APIs use. Loading all of them would cost every worker 2.6 MB.
{ BigDecimal: "bigdecimal/util", CGI: "cgi/util", Date: "date", DateTime: "date", JSON: "json", Set: "set", Tempfile: "tempfile", URI: "uri" }
  .each { |name, feature| Object.autoload(name, feature) unless Object.const_defined?(name, false) }
