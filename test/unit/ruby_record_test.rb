# frozen_string_literal: true

require "test_helper"
require "ruby_record"
require "tmpdir"

# The table of README.md about the Rubies that the tests ran on.
class RubyRecordTest < Minitest::Test
  ROOT = File.expand_path("../..", __dir__)
  Tally = Struct.new(:passed, :failed, :skipped)

  def test_the_table_of_the_readme_is_what_the_records_say
    table = File.read(File.join(ROOT, "README.md"))[/^<!-- rubies:begin -->\n(.*?)^<!-- rubies:end -->$/m, 1]
    assert_equal RubyRecord.table(ROOT), table
  end

  # `elah doctor` warns of others.
  def test_the_doctor_knows_the_versions_of_the_records
    require "elah/cli/doctor/software"
    records = Dir[File.join(ROOT, RubyRecord::FOLDER, "*.json")].map { |file| JSON.parse(File.read(file)) }
    { RUBIES: "ruby", RACKS: "Rack", RAILS: "Rails" }.each do |name, key|
      versions = records.filter_map { |record| record[key] || record["libraries"][key] }
      named = Elah::CLI::Doctor::Software.const_get(name)
      assert_equal versions.map { |version| version[/\d+\.\d+/] }.uniq.sort, named, name
    end
  end

  def test_a_run_is_recorded_with_what_it_had
    Dir.mktmpdir do |root|
      RubyRecord.write(root, "unit" => Tally.new(12_000, 1, 0), "lint" => Tally.new(1, 0, 0))
      RubyRecord.write(root, "gc" => Tally.new(345, 0, 2))
      row = RubyRecord.table(root).lines.last
      assert_match(/\A\| #{RUBY_VERSION}( with YJIT)? \| /, row)
      assert_includes row, "Rack #{Gem::Specification.find_by_name('rack').version}"
      assert_match(/ \| unit, gc: 12,345 passed, 1 failed, 2 skipped \| \d{4}-\d\d-\d\d \|\n\z/, row)
    end
  end

  def test_the_newest_ruby_comes_first
    Dir.mktmpdir do |root|
      FileUtils.mkdir_p(File.join(root, RubyRecord::FOLDER))
      %w[3.10.0 3.9.1].each do |version|
        record = { ruby: version, libraries: {}, servers: {}, steps: {} }
        File.write(File.join(root, RubyRecord::FOLDER, "#{version[/\d+\.\d+/]}.json"), JSON.generate(record))
      end
      assert_equal %w[3.10.0 3.9.1], RubyRecord.table(root).scan(/^\| (\d\S*)/).flatten
    end
  end
end
