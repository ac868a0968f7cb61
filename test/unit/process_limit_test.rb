# frozen_string_literal: true

require "test_helper"
require "open3"

# At the limit of processes the supervisor stood still in `fork`: it replaced and ended no worker, and obeyed no signal.
class ProcessLimitTest < Minitest::Test
  SCRIPT = <<~RUBY
    require "elah"
    require "elah/server/process_limit"
    Process::UID.change_privilege(65_534) if Process.euid.zero? # there is no limit for root
    Process.setrlimit(:NPROC, 1)
    begin
      Elah::ProcessLimit.check
    rescue Elah::Error => e
      print e.message
    end
  RUBY

  def test_below_the_limit_nothing_is_told = Elah::ProcessLimit.check

  def test_the_limit_is_told_before_a_fork
    out, status = Open3.capture2(RbConfig.ruby, "-I#{File.expand_path('../../lib', __dir__)}", "-e", SCRIPT)
    assert_predicate status, :success?
    assert_match(/\AThe system refuses another process \(ulimit -u, .*\): can't create Thread: .*\.\z/, out)
  end
end
