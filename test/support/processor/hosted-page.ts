import type { ServerResponse } from 'node:http';
import type { ProcessorAccount } from './account';

/** The page on which a customer pays: cards are named by their test numbers. */
export function hostedPage(
  account: ProcessorAccount,
  url: URL,
  method: string,
  body: string,
  response: ServerResponse,
): void {
  const session = account.sessions.get(url.pathname.slice('/c/pay/'.length));
  if (session === undefined) {
    response.writeHead(404).end('no such session');
    return;
  }
  const form = new URLSearchParams(body);
  const outcome =
    method === 'POST' ? account.pay(session.id, form.get('card') ?? '', form.get('confirm') !== 'no') : null;
  if (outcome === 'paid') {
    response.writeHead(303, { location: String(session['success_url']) }).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(`<!doctype html><html lang="en"><title>Simulated payment</title><h1>Simulated payment</h1>
    <p>${session['amount_total'] === null ? 'Save a card' : `${(Number(session['amount_total']) / 100).toFixed(2)} USD`}</p>
    ${outcome === null ? '' : `<p role="alert">${outcome}</p>`}
    <form method="post"><label>Card number <input name="card" value="4242424242424242"></label>
    <button>Pay</button></form><a href="${String(session['cancel_url'])}">Back</a></html>`);
}
