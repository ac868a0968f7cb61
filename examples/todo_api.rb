# frozen_string_literal: true

# Parameters, errors with codes and a hook, in Grape's vocabulary.
#   curl -d title=Read -d tags[]=books http://127.0.0.1:9292/todos
#   curl http://127.0.0.1:9292/todos/1
class TodoAPI < Elah::API
  format :json
  error_format :problem

  helpers { def todos = (@@todos ||= []) }
  after { header "X-Count", todos.size }

  resource :todos do
    desc "Lists what there is to do"
    get { todos }

    params do
      requires :title, type: String, allow_blank: false, length: { max: 100 }
      optional :tags, type: Array[String], default: []
    end
    post { { id: todos.push(declared(params)).size } }

    route_param :id, type: Integer do
      get { (todos[params[:id] - 1] if params[:id].positive?) || error!("There is no such thing to do.", 404, code: :no_such_todo) }
    end
  end
end

run TodoAPI
