# frozen_string_literal: true

# Owns how the compiled extension is found: in the folder of this Ruby's minor version, where the precompiled gems have one
# for each Ruby, else beside the library.
require_relative "errors"

begin
  precompiled = File.join(__dir__, RUBY_VERSION[/\d+\.\d+/], "elah")
  require File.exist?("#{precompiled}.so") ? precompiled : "elah/elah"
rescue LoadError => e
  versions = Dir[File.join(__dir__, "*.*/elah.so")].map { |path| File.basename(File.dirname(path)) }.sort_by { |name| name.split(".").map(&:to_i) }
  remedy =
    if versions.empty? || versions.include?(RUBY_VERSION[/\d+\.\d+/])
      "In a checkout run bin/setup; as a gem run `gem pristine elah`."
    else
      "This precompiled gem is for Ruby #{versions.join(", ")}: use one of these, " \
        "or build it for this Ruby with `gem install elah --platform ruby`, which needs Rust."
    end
  raise Elah::ExtensionMissing, "Elah's native extension is not built for Ruby #{RUBY_VERSION}. #{remedy} (#{e.message})"
end
