# frozen_string_literal: true

# Accounts that all workers share. One worker owns each account, and commits it to disk before the response leaves:
#   elah serve --workers 2 examples/accounts.rb
#   curl -X POST localhost:9292/accounts/42/deposits/10
class Account < Elah::Entity
  def restore = @balance = state.get("balance").to_i

  attr_reader :balance

  def deposit(amount)
    @balance += amount
    state.put("balance", @balance.to_s)
    @balance
  end
end

ACCOUNTS = Account.in(Elah::Store.open(Elah.config.state))

class AccountsAPI < Elah::API
  format :json
  get("accounts/:id") { { balance: ACCOUNTS[params[:id]].balance } }
  post("accounts/:id/deposits/:amount") { { balance: ACCOUNTS[params[:id]].deposit(params[:amount].to_i) } }
end
run AccountsAPI
