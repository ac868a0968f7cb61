# frozen_string_literal: true

require "optparse"
require_relative "drawing"
require_relative "run"
require_relative "table"
require_relative "traffic"

module RingPools
  # Sizes pools by simulating recorded or expected traffic.
  module Simulation
    # The command `simulate`.
    class Command
      DEFAULTS = { numbers: 50, lifetime_seconds: 1800.0, quarantine_seconds: 0.0, policy: Definition::POLICIES.first, target: 0.01, seed: 1 }.freeze

      # @param out [IO]
      # @param err [IO]
      def initialize(out, err)
        @out = out
        @err = err
      end

      # @param arguments [Array<String>]
      # @return [Integer] status of the process
      def run(arguments)
        options = DEFAULTS.dup
        files = parser(options).parse(arguments, into: options)
        raise OptionParser::ParseError, "one traffic file is needed" unless files.size == 1

        show(simulate(files.first, options), options)
        0
      rescue OptionParser::ParseError, Traffic::Broken, SystemCallError => e
        @err.puts "simulate: #{e.message}"
        1
      end

      private

      def parser(options)
        OptionParser.new do |parser|
          parser.banner = "Usage: apps/ring_pools/simulate [options] TRAFFIC.csv"
          parser.on("--numbers N", Integer, "numbers of a pool, where the file says none (#{options[:numbers]})")
          parser.on("--lifetime_seconds N", Float, "hold time (#{options[:lifetime_seconds].to_i})")
          parser.on("--quarantine_seconds N", Float, "time after it (#{options[:quarantine_seconds].to_i})")
          parser.on("--policy NAME", Definition::POLICIES, "#{Definition::POLICIES.join(', ')} (#{options[:policy]})")
          parser.on("--target SHARE", Float, "the share of overflow that is aimed at (#{options[:target]})")
          parser.on("--seed N", Integer, "of the arrivals that the file gives as rates (#{options[:seed]})")
          parser.on("--svg FILE", "draws the forecast")
          parser.on("--[no-]plot", "prints the hours of each pool (yes)")
        end
      end

      def simulate(file, options)
        raise OptionParser::ParseError, "--target must be a share between 0 and 1" unless options[:target].between?(0.000001, 0.999)

        defaults = %i[numbers lifetime_seconds quarantine_seconds policy].to_h { |name| [name.to_s, options[name]] }
        pools = File.open(file, "r:bom|utf-8") { |lines| Traffic.read(lines.each_line, Random.new(options[:seed])) }
        pools.map { |pool| Run.new(pool, defaults).outcome }
      end

      def show(outcomes, options)
        table = Table.new(outcomes, options[:target])
        @out.puts table.to_s
        outcomes.each { |outcome| @out.puts "", table.plot(outcome) } unless options[:plot] == false
        return unless options[:svg]

        File.write(options[:svg], Drawing.new(outcomes, options[:target]).to_s)
        @out.puts "", "The forecast is drawn in #{options[:svg]}."
      end
    end
  end
end
