# frozen_string_literal: true

# Owns how the compiled extension is found: beside the library, or in the folder of this Ruby's minor version, where the
# precompiled gems put it.
begin
  require "elah/#{RUBY_VERSION[/\d+\.\d+/]}/elah"
rescue LoadError
  begin
    require "elah/elah"
  rescue LoadError => e
    raise LoadError, "Elah's native extension is not built for Ruby #{RUBY_VERSION}. " \
                     "In a checkout run bin/setup; as a gem run `gem pristine elah`. (#{e.message})"
  end
end
