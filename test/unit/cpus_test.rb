# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "tmpdir"

class CpusTest < Minitest::Test
  # Counts in groups of which each folder has the cpu.max given.
  def count(available, bounds, group: "/a/b")
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "cgroup"), "0::#{group}\n")
      bounds.each do |path, text|
        FileUtils.mkdir_p(File.join(folder, "groups", path))
        File.write(File.join(folder, "groups", path, "cpu.max"), text)
      end
      Elah::Cpus.count(available: available, proc_cgroup: File.join(folder, "cgroup"),
                       groups: File.join(folder, "groups"))
    end
  end

  def test_the_smallest_bound_counts
    assert_equal 8, count(8, {})
    assert_equal 8, count(8, { "a/b" => "max 100000" })
    assert_equal 2, count(8, { "a/b" => "150000 100000" })
    assert_equal 3, count(8, { "a" => "300000 100000", "a/b" => "max 100000" })
    assert_equal 1, count(8, { "a/b" => "10000 100000" })
    assert_equal 2, count(2, { "a/b" => "400000 100000" })
  end

  def test_a_system_without_groups_has_the_processors_it_says
    assert_equal 4, Elah::Cpus.count(available: 4, proc_cgroup: "/nowhere", groups: "/nowhere")
  end

  def test_affinity_counts
    assert_equal "1", `taskset -c 0 ruby -Ilib -relah/concurrency/cpus -e 'puts Elah::Cpus.count'`.strip
  end

  def test_workers_may_be_auto
    assert_equal Elah::Cpus.count, Elah::Config.build(workers: "auto").workers
    assert_equal 3, Elah::Config.build(workers: "3").workers
    error = assert_raises(Elah::OptionError) { Elah::Config.build(workers: "many") }
    assert_match(/workers must be a whole number from 1 to 64, or auto, not "many"/, error.message)
    assert_raises(Elah::OptionError) { Elah::Config.build(workers: 65) }
  end
end
