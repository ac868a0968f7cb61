# frozen_string_literal: true

require_relative "lib/elah/version"

Gem::Specification.new do |spec|
  spec.name = "elah"
  spec.version = Elah::VERSION
  spec.summary = "A non-blocking API server and framework for Ruby with a Rust core"
  spec.description = "One fiber per request, linear code, nothing blocks: serves Rack apps as they are, " \
                     "and APIs in Grape's vocabulary at the speed of a compiled server."
  spec.authors = ["The Elah authors"]
  spec.license = "MIT"
  spec.required_ruby_version = ">= 3.1"

  # Every crate of the workspace is there, since cargo reads the manifests of all before it builds one.
  spec.files = Dir.chdir(__dir__) do
    Dir["{lib,exe,docs,sig}/**/*", "{ext,crates,bench/bare_hyper}/**/*.{md,rs,rb,toml}", "Cargo.{toml,lock}", "*.md", "LICENSE"]
      .select { |path| File.file?(path) && !path.end_with?(".so") }
  end
  spec.bindir = "exe"
  spec.executables = ["elah"]
  spec.extensions = ["ext/elah/extconf.rb"]
  # Ruby brings both, but Bundler hides them where they are gems of their own: the first from Ruby 3.4 on, the second from 4.0 on.
  spec.add_dependency "bigdecimal"
  spec.add_dependency "logger"
  spec.add_dependency "rack", ">= 2.2", "< 4"
  spec.metadata = { "rubygems_mfa_required" => "true" }
end
