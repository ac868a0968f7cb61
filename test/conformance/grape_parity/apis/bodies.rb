# frozen_string_literal: true

# Owns the APIs that try bodies and formats of the app's own.
module Parity
  # Bodies and formats of the app's own.
  class Bodies < API_BASE
    content_type :json, "application/json"
    content_type :txt, "text/plain"
    content_type :csv, "text/csv"
    content_type :xjson, "application/vnd.x+json"
    default_format :json
    formatter :csv,
              ->(object, _env) { object.is_a?(Array) ? object.map { |row| row.join(",") }.join("\n") : object.to_s }
    parser :csv, ->(text, _env) { { "rows" => text.split("\n").map { |line| line.split(",") } } }
    error_formatter :csv, ->(message, _backtrace, _options, _env, _original) { "error,#{message}" }
    get(:rows) { [[1, 2], [3, 4]] }
    post(:rows) { params[:rows] || params }
    get(:error) { error! "bad", 400 }
    post(:raw) { env["api.request.body"].inspect }
    post(:input) { env["api.request.input"].to_s }
    post(:list) { { body: env["api.request.body"], params: params } }
    put(:doc) { params }
    patch(:doc) { params }
    delete(:doc) { params }
    post(:upload) do
      file = params[:file]
      { name: file[:filename], type: file[:type], content: file[:tempfile].read, note: params[:note] }
    end
    params { requires :file, type: File }
    post(:checked_upload) { { name: params[:file][:filename] } }
  end

  # default_format and fixed txt.
  class Texts < API_BASE
    format :txt
    get(:hello) { "hello" }
    get(:hash) { { a: 1 } }
    get(:error) { error! "text", 400 }
    get(:error_hash) { error!({ a: 1 }, 400) }
    params { requires :v, type: Integer }
    get(:invalid) { "x" }
    post(:body) { params.to_json }
  end
end
