# frozen_string_literal: true

# Owns the APIs of the parity test. They are loaded twice, in processes of their own: with API_BASE = Grape::API and
# with API_BASE = Elah::API. Nothing else in them knows which.
require "bigdecimal"
require "date"
require "json"
require "set"
require "time"
require_relative "apis/basics"
require_relative "apis/documents"
require_relative "apis/hooks"
require_relative "apis/rescues"
require_relative "apis/types"
require_relative "apis/rules"
require_relative "apis/groups"
require_relative "apis/bodies"
require_relative "apis/versions"
require_relative "apis/mounting"
require_relative "apis/idioms"
