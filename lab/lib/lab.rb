# frozen_string_literal: true

# The lab measures servers side by side. All of it runs in the repository's root, so that recorded commands can be repeated elsewhere.
module Lab
  ROOT = File.expand_path("../..", __dir__)

  # For files that are not kept.
  WORK_FOLDER = "tmp/lab"

  # Something is not as the lab needs it. The message is for the one who runs it.
  class Error < StandardError; end
end

require_relative "catalogue"
require_relative "setup"
require_relative "cores"
require_relative "server_process"
require_relative "workloads"
require_relative "contract_check"
require_relative "generators"
require_relative "measurement"
require_relative "run_order"
require_relative "plan"
require_relative "record"
require_relative "session"
require_relative "format"
require_relative "summary"
require_relative "table"
require_relative "overview"
require_relative "report"
require_relative "command_line"
