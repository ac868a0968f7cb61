# frozen_string_literal: true

require "test_helper"
require "elah/concurrency/scheduler"
require "tmpdir"

# Ruby refuses a second thread that would change the working directory meanwhile. Two requests in one thread
# were let in: each worked in the folder of the other, and the worker stayed in a folder that was gone.
class WorkingDirectoryTest < Minitest::Test
  def setup
    @before = Dir.pwd
    @one, @other = Array.new(2) { File.realpath(Dir.mktmpdir) }
  end

  def teardown
    Dir.chdir(@before)
    [@one, @other].each { |folder| FileUtils.remove_entry(folder) }
  end

  def test_a_second_task_is_refused_as_a_second_thread_is
    Elah.run do
      inside(@one) do
        assert_equal refusal_of_a_thread, refusal { Dir.chdir(@other) { nil } }
        assert_equal refusal_of_a_thread, refusal { Dir.chdir(@other) }
      end
    end
    assert_equal @before, Dir.pwd
  end

  def test_programs_run_in_the_folder_of_their_request
    Elah.run do
      jobs = [@one, @other].map do |folder|
        Elah.async { Dir.chdir(folder) { sleep(0.01) && system("pwd > out.txt") } }
      end
      assert jobs.first.value
      assert_kind_of RuntimeError, jobs.last.tap(&:wait).error
    end
    assert_equal @one, File.read(File.join(@one, "out.txt")).chomp
    assert_empty Dir.children(@other)
    assert_equal @before, Dir.pwd
  end

  def test_the_block_of_a_task_that_has_ended_refuses_nobody
    Elah.run do
      cancelled = Elah.async { Dir.chdir(@one) { sleep } }
      cancelled.cancel.wait
      assert_equal(@other, Elah.async { Dir.chdir(@other) { Dir.pwd } }.value)
      assert_raises(Errno::ENOENT) { Dir.chdir(File.join(@one, "none")) { nil } }
      assert_equal(@other, Elah.async { Dir.chdir(@other) { Dir.pwd } }.value)
    end
    assert_equal @before, Dir.pwd
  end

  def test_a_task_may_change_it_again_in_its_block
    Elah.run do
      inside(@one) do |path|
        assert_equal @one, path
        assert_equal(@other, Dir.chdir(@other) { Fiber.new { Dir.chdir(@other) { Dir.pwd } }.resume })
        assert_equal @one, Dir.pwd
        _, warning = capture_io { Dir.chdir(@other) }
        assert_includes warning, "conflicting chdir during another chdir block"
        assert_equal @other, Dir.pwd
      end
      assert_equal @before, Dir.pwd
    end
  end

  def test_other_threads_and_code_without_a_loop_are_left_to_ruby
    assert_equal(@one, Dir.chdir(@one) { Dir.chdir(@one) { Dir.pwd } })
    Elah.run do
      inside(@one) { assert_equal refusal_of_a_thread, refusal { Elah.offload { Dir.chdir(@other) { nil } } } }
      assert_equal(0, Elah.async { Dir.chdir(@other) }.value)
    end
    assert_equal @other, Dir.pwd
  end

  def test_a_folder_that_is_open_is_changed_to_likewise
    skip "Ruby 3.3 and later have Dir#chdir" unless Dir.method_defined?(:chdir)

    Dir.open(@other) do |other|
      Elah.run do
        inside(@one) do
          [-> { other.chdir { nil } }, -> { Dir.fchdir(other.fileno) { nil } }].each do |change|
            assert_equal refusal_of_a_thread, refusal(&change)
          end
        end
        Elah.async do
          other.chdir { assert_equal refusal_of_a_thread, refusal { Dir.chdir(@one) } }
          Dir.fchdir(other.fileno) { assert_equal refusal_of_a_thread, refusal { Dir.chdir(@one) } }
        end.value
      end
    end
    assert_equal @before, Dir.pwd
  end

  private

  # Runs the block in another task, inside of a folder.
  def inside(folder, &block) = Elah.async { Dir.chdir(folder, &block) }.value

  # What a third task gets.
  def refusal(&block) = [Elah.async(&block).tap(&:wait).error].map { |error| [error.class, error.message] }.first

  def refusal_of_a_thread
    @refusal_of_a_thread ||= Thread.new do
      Dir.chdir(@other) { nil }
    rescue RuntimeError => e
      [e.class, e.message]
    end.value
  end
end
