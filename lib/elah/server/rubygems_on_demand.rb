# frozen_string_literal: true

# Owns the late loading of RubyGems, in a process that was started without it: when a library is not found, or when a program names it
# (`Gem`, `gem "x"`). An API that needs no gem saves its 2 MB. If RubyGems is loaded already, this file does nothing.
unless defined?(Gem)
  autoload :Gem, "rubygems"
  # RubyGems loads it, and libraries take it for granted.
  autoload :RbConfig, "rbconfig"

  # RubyGems, once it is loaded, puts its own `require` and `gem` over these.
  module Kernel
    alias require_without_rubygems require

    # Its file is called as Ruby's own are: Sinatra takes the first other one that requires it for the app.
    class_eval(<<~RUBY, "<internal:elah>", 1)
      def require(path)
        require_without_rubygems(path)
      rescue LoadError => e
        # A file that was found and raises this is not run again.
        raise unless e.path == path.to_s && Object.autoload?(:Gem)

        ::Gem.ruby_version
        require(path)
      end
    RUBY

    def gem(...)
      ::Gem.ruby_version
      gem(...)
    end

    # A method that has a second name is replaced without a warning.
    alias gem_on_demand gem
    private :require, :require_without_rubygems, :gem, :gem_on_demand
  end
end
