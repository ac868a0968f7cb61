# frozen_string_literal: true

# Owns how the compiled extension is found: in the folder of this Ruby's minor version, where the precompiled gems have it,
# else beside the library.
require_relative "errors"

precompiled = File.join(__dir__, RUBY_VERSION[/\d+\.\d+/])
begin
  require File.directory?(precompiled) ? File.join(precompiled, "elah") : "elah/elah"
rescue LoadError => e
  raise Elah::ExtensionMissing, "Elah's native extension is not built for Ruby #{RUBY_VERSION}. " \
                                "In a checkout run bin/setup; as a gem run `gem pristine elah`. (#{e.message})"
end
