# frozen_string_literal: true

require_relative "../../test_helper"
require "tmpdir"
require_relative "../../../bench/lib/procfs"

class ProcessTreeTest < Minitest::Test
  def test_the_cpu_time_of_a_child_and_its_child_is_counted
    # The root only waits; its child burns a quarter of a second, then both stay until their input ends.
    burner = "until Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) > 0.25; end; " \
             "puts :burnt; $stdout.flush; $stdin.read"
    IO.popen(["sh", "-c", "#{RbConfig.ruby} --disable=gems -e '#{burner}'; true"], "r+") do |root|
      root.gets
      tree = Bench::ProcessTree.new(root.pid)
      assert_equal 2, tree.pids.size
      assert_operator tree.cpu_seconds, :>=, 0.2
      assert_equal tree.pids.last, tree.busiest_pid
      root.close_write
    end
  end

  def test_an_ended_process_has_no_cpu_time
    ended = spawn("true").tap { |pid| Process.wait(pid) }
    assert_equal 0, Bench::ProcessTree.new(ended).cpu_seconds
  end

  def test_private_memory_leaves_out_the_mapped_store_and_other_files
    Dir.mktmpdir do |directory|
      file = File.join(directory, "data.mdb")
      File.binwrite(file, "x" * 4_000_000)
      script = "require 'fiddle'; f = File.open(#{file.dump}); libc = Fiddle.dlopen(nil);" \
               "map = Fiddle::Function.new(libc['mmap'], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T, " \
               "Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_INT, Fiddle::TYPE_LONG], Fiddle::TYPE_VOIDP);" \
               "map.call(nil, 4_000_000, 1, 1, f.fileno, 0)[0, 4_000_000].sum; puts; $stdout.flush; $stdin.read"
      IO.popen([RbConfig.ruby, "-e", script], "r+") do |process|
        process.gets
        memory = Bench::ProcessTree.memory(process.pid)
        assert_in_delta 4_000_000, memory[:store_bytes], 10_000
        assert_includes 1_000_000..(memory[:resident_bytes] - memory[:store_bytes]), memory[:private_bytes]
        assert_in_delta Bench::ProcessTree.new(process.pid).memory[:anonymous_bytes], memory[:private_bytes], 200_000,
                        "what the lab reads"
        assert_operator Bench::ProcessTree.peak_resident_bytes(process.pid), :>=, memory[:resident_bytes]
        process.close_write
      end
    end
  end
end
