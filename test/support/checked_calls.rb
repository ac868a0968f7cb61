# frozen_string_literal: true

# Checks the calls of a test process against sig/, by RBS::Test: loaded with `-r`, it fails a call whose arguments or
# result do not fit its signature. A call that raises is left out, since it may be wrong on purpose.
require "rbs"
require "rbs/test"

RBS::Test::Tester::MethodCallTester.prepend(Module.new do
  def call(receiver, trace) = (super if trace.method_call.return?)
end)

require "rbs/test/setup"
