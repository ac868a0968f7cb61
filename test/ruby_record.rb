# frozen_string_literal: true

require "json"
require "open3"
require "time"
require_relative "support/gems"
require_relative "../bench/lib/marked_text"

# What a run of all tests on one Ruby came to, and with which libraries and servers: a file of `test/rubies` for each Ruby, and the table of them in
# README.md.
module RubyRecord
  FOLDER = "test/rubies"

  # Their names for a reader.
  LIBRARIES = { "rack" => "Rack", "railties" => "Rails", "activerecord" => "ActiveRecord", "sinatra" => "Sinatra", "grape" => "Grape", "puma" => "Puma",
                "pg" => "pg", "mysql2" => "mysql2", "sqlite3" => "sqlite3", "redis" => "redis", "mongo" => "mongo" }.freeze

  # Name, a glob of the program, and its argument.
  SERVERS = { "PostgreSQL" => ["/usr/lib/postgresql/*/bin/postgres", "--version"], "MariaDB" => ["/usr/sbin/mariadbd", "--version"],
              "Redis" => ["/usr/bin/redis-check-rdb", "--version"] }.freeze
  JARS = "target/test-servers/mongo-java-server/mongo-java-server-*[0-9].jar"

  class << self
    # @param root [String] of the checkout
    # @param tally [Gate::Tally]
    def write(root, tally)
      record = { ruby: RUBY_VERSION, yjit: yjit?, system: system_name, libraries: libraries, servers: servers(root), date: Time.now.utc.strftime("%F"),
                 **tally.to_h }
      File.write(File.join(root, FOLDER, "#{RUBY_VERSION[/\A\d+\.\d+/]}.json"), "#{JSON.pretty_generate(record)}\n")
    end

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
      tests = %w[passed failed skipped].map { |what| "#{record[what].to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ',')} #{what}" }.join(", ")
      "| #{record['ruby']}#{' with YJIT' if record['yjit']} | #{record['system']} | #{with} | #{tests} | #{record['date']} |\n"
    end

    def yjit? = defined?(RubyVM::YJIT.enabled?) ? RubyVM::YJIT.enabled? : false

    def system_name = File.read("/etc/os-release")[/^PRETTY_NAME="?(.+?)"?$/, 1].sub("GNU/Linux ", "").sub(%r{/sid}, "")

    def libraries = LIBRARIES.filter_map { |gem, name| [name, Gem::Specification.find_by_name(gem).version.to_s] unless Gems.missing(gem) }.to_h

    def servers(root)
      versions = SERVERS.transform_values { |glob, argument| Dir[glob].max&.then { |program| Open3.capture2(program, argument).first[/\d+(\.\d+)+/] } }
      versions["mongo-java-server"] = Dir[File.join(root, JARS)].first.to_s[/-(\d+(\.\d+)+)\.jar/, 1]
      versions.compact
    end
  end
end
