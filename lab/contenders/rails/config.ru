# frozen_string_literal: true

# The plain answers in Rails.
require_relative "application"

LabApplication.routes.append do
  get "/hello", to: "plain#hello"
  get "/json", to: "plain#json"
  get "/sleep", to: "plain#wait"
end

class PlainController < ActionController::API
  def hello = render(plain: "hello world")

  def json = render(json: { id: 42, title: "hello world", done: false, tags: %w[ruby rust] })

  def wait
    sleep 0.05
    render(plain: "slept")
  end
end

LabApplication.initialize!

run LabApplication
