# frozen_string_literal: true

require "fileutils"
require "json"
require "open3"
require "time"
require_relative "support/gems"
require_relative "../bench/lib/marked_text"

# What the tests came to on each Ruby, and with which libraries and servers: a file of `test/rubies` for each Ruby, and
# the table of them in README.md.
module RubyRecord
  FOLDER = "test/rubies"

  # What a Ruby can change. Formatters, linters and the crates' own tests know none.
  STEPS = %w[unit gc conformance integration apps docs].freeze

  # Their names for a reader.
  LIBRARIES = { "rack" => "Rack", "railties" => "Rails", "activerecord" => "ActiveRecord", "sinatra" => "Sinatra",
                "grape" => "Grape", "puma" => "Puma", "pg" => "pg", "mysql2" => "mysql2", "sqlite3" => "sqlite3",
                "redis" => "redis", "mongo" => "mongo" }.freeze

  # Name, a glob of the program, and its argument.
  SERVERS = { "PostgreSQL" => ["/usr/lib/postgresql/*/bin/postgres", "--version"],
              "MariaDB" => ["/usr/sbin/mariadbd", "--version"],
              "Redis" => ["/usr/bin/redis-check-rdb", "--version"] }.freeze
  JARS = "target/test-servers/mongo-java-server/mongo-java-server-*[0-9].jar"

  class << self
    # Keeps what earlier runs of other steps came to.
    # @param root [String] of the checkout
    # @param tallies [Hash{String=>Gate::Tally}] by step
    def write(root, tallies)
      FileUtils.mkdir_p(File.join(root, FOLDER))
      file = File.join(root, FOLDER, file_name(RUBY_VERSION, yjit?))
      steps = File.file?(file) ? JSON.parse(File.read(file)).fetch("steps") : {}
      date = Time.now.utc.strftime("%F")
      tallies.slice(*STEPS).each { |step, tally| steps[step] = { **tally.to_h, date: date } }
      record = { ruby: RUBY_VERSION, yjit: yjit?, system: system_name, libraries: libraries, servers: servers(root),
                 steps: steps.slice(*STEPS) }
      File.write(file, "#{JSON.pretty_generate(record)}\n")
    end

    # @return [String] of the file for a Ruby; with YJIT it is another one
    def file_name(version, yjit) = "#{version[/\A\d+\.\d+/]}#{'-yjit' if yjit}.json"

    def fill_readme(root) = Bench::MarkedText.new(File.join(root, "README.md"), "rubies").replace(table(root))

    # @return [String] in Markdown, the newest Ruby first
    def table(root)
      records = Dir[File.join(root, FOLDER, "*.json")].map { |file| JSON.parse(File.read(file)) }
      rows = records.sort_by { |record| Gem::Version.new(record["ruby"]) }.reverse.map { |record| row(record) }
      ["| Ruby | system | with | tests | date |\n", "|---|---|---|---|---|\n", *rows].join
    end

    private

    def row(record)
      with = [record["libraries"], record["servers"]].flat_map(&:to_a).map { |pair| pair.join(" ") }.join(", ")
      steps = record["steps"]
      sums = %w[passed failed skipped].map { |what| "#{grouped(steps.values.sum { |step| step[what] })} #{what}" }
      part = "#{steps.keys.join(', ')}: " unless steps.size == STEPS.size
      ruby = "#{record['ruby']}#{' with YJIT' if record['yjit']}"
      cells = [ruby, record["system"], with, "#{part}#{sums.join(', ')}"]
      "| #{cells.join(' | ')} | #{steps.values.map { |step| step['date'] }.min} |\n"
    end

    def grouped(number) = number.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")

    def yjit? = defined?(RubyVM::YJIT.enabled?) ? RubyVM::YJIT.enabled? : false

    def system_name = File.read("/etc/os-release")[/^PRETTY_NAME="?(.+?)"?$/, 1].sub("GNU/Linux ", "").sub(%r{/sid}, "")

    # ActiveRecord is not tested where it has no driver.
    def libraries
      present = LIBRARIES.reject { |gem, _| Gems.missing(gem) || (gem == "activerecord" && Gems.missing("pg")) }
      present.to_h { |gem, name| [name, Gem::Specification.find_by_name(gem).version.to_s] }
    end

    def servers(root)
      versions = SERVERS.transform_values do |glob, argument|
        Dir[glob].max&.then { |program| Open3.capture2(program, argument).first[/\d+(\.\d+)+/] }
      end
      versions["mongo-java-server"] = Dir[File.join(root, JARS)].first.to_s[/-(\d+(\.\d+)+)\.jar/, 1]
      versions.compact
    end
  end
end
