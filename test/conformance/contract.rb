# frozen_string_literal: true

# Plays a contract of specs/ against a server: `ruby test/conformance/contract.rb specs/links.yml
# http://127.0.0.1:9301`. It needs Ruby alone, neither the library nor a gem, and knows the server by its URL only.
# specs/README.md has the format.
require "yaml"
require_relative "contract/player"

module Conformance
  # The cases of one file.
  class Contract
    # name: a sentence · steps: Array<Hash>
    Case = Struct.new(:name, :steps)

    # The file is no contract.
    class Malformed < StandardError; end

    # @return [String] of the API
    attr_reader :name
    # @return [Array<Case>]
    attr_reader :cases

    # @param path [String]
    # @raise [Malformed]
    def initialize(path)
      document = YAML.safe_load(File.read(path), aliases: true)
      @name = document.fetch("contract")
      @cases = document.fetch("cases").map { |one| Case.new(one.fetch("name"), one.fetch("steps")) }
      twice = @cases.group_by(&:name).select { |_, same| same.size > 1 }.keys
      raise Malformed, "#{path} has more than one case named #{twice.join(', ')}." unless twice.empty?
    rescue KeyError => e
      raise Malformed, "#{path}: #{e.message}."
    end

    # @param url [String] of the server, without a slash at its end
    # @param headers [Hash{String=>String}] to send with every request that does not say otherwise
    # @yieldparam name [String] of a case
    # @yieldparam failure [String, nil] what was not as it should be
    # @return [Boolean] whether the server keeps the whole contract
    def play(url, headers: {})
      @cases.map do |one|
        failure = Player.new(url, headers: headers).play(one.steps)
        yield one.name, failure
        failure.nil?
      end.all?
    end
  end
end

if $PROGRAM_NAME == __FILE__
  path, url, *more = ARGV
  abort "Usage: ruby #{$PROGRAM_NAME} specs/NAME.yml URL [\"Header: value\" ...]" unless url
  headers = more.to_h { |line| line.split(/:\s*/, 2) }
  kept = Conformance::Contract.new(path).play(url.chomp("/"), headers: headers) do |name, failure|
    puts "#{failure ? 'FAIL' : 'ok  '} #{name}#{"\n     #{failure}" if failure}"
  end
  exit kept
end
