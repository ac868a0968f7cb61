# frozen_string_literal: true

# The smallest API. Serve it with `elah serve examples/hello_api.rb`, then
#   curl http://127.0.0.1:9292/hello
#   curl 'http://127.0.0.1:9292/hello/Ada?times=2'
class HelloAPI < Elah::API
  format :json

  get(:hello) { { message: "hello world" } }

  params { optional :times, type: Integer, values: 1..5, default: 1 }
  get("hello/:name") { { message: Array.new(params[:times], "hello #{params[:name]}").join(", ") } }
end

run HelloAPI
