# frozen_string_literal: true

require "json"
require "open3"

# Owns DuckDB in the tests, which `bin/setup --tests` fetches from PyPI: it reads files, and serves nothing.
module DuckDB
  FOLDER = File.expand_path("../../target/test-servers/duckdb", __dir__)
  SCRIPT = "import duckdb, json, sys; print(json.dumps(duckdb.connect().sql(sys.argv[1]).fetchall(), default=str))"

  # Raised when it does not like the query, or is missing.
  class Failure < StandardError; end

  # @param sql [String]
  # @return [Array<Array>] rows; what JSON has no form for is text
  def self.query(sql)
    out, error, status = Open3.capture3({ "PYTHONPATH" => FOLDER, "TZ" => "UTC" }, "python3", "-c", SCRIPT, sql)
    raise Failure, error unless status.success?

    JSON.parse(out)
  end
end
