import type { ServerResponse } from 'node:http';
import type { ProcessorAccount } from './account';
import type { ProcessorObject } from './account-store';
import { testPaymentMethodNames } from './cards';

const outcomeTexts: Readonly<Record<string, string>> = {
  declined: 'The bank declines this card. Choose another one.',
  unconfirmed: 'The payment was not confirmed. Try again.',
};

const labels: Readonly<Record<string, string>> = {
  '4000000000000002': 'is declined',
  '4000000000009995': 'is declined: too little money',
  '4000000000000341': 'is saved, and declined later',
  '4000002760003184': 'asks for a confirmation (3-D Secure)',
  apple_pay: 'a card in the wallet of a telephone',
  link: 'a wallet',
};

/** Payment page of the processor; cards are selected by test number. */
export function hostedPage(
  account: ProcessorAccount,
  url: URL,
  method: string,
  body: string,
  response: ServerResponse,
): void {
  const session = account.sessions.get(url.pathname.slice('/c/pay/'.length));
  if (session?.['status'] !== 'open') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('This checkout is not open.');
    return;
  }
  const form = new URLSearchParams(body);
  const card = form.get('card') ?? '';
  const isKnownCard = testPaymentMethodNames.includes(card);
  const outcome =
    method === 'POST' && isKnownCard ? account.pay(session.id, card, form.get('confirm') !== 'no') : null;
  if (outcome === 'paid') {
    response.writeHead(303, { location: String(session['success_url']) }).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(page(session, outcome));
}

function page(session: ProcessorObject, outcome: string | null): string {
  const amount = session['amount_total'];
  const heading = amount === null ? 'Save a card' : `Pay ${(Number(amount) / 100).toFixed(2)} US dollars`;
  const choices = testPaymentMethodNames.map(
    (way) => `<option value="${way}">${way} ${labels[way] ?? 'is accepted'}</option>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Simulated payment</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">
<style>body{font:16px/1.5 system-ui;max-width:34rem;margin:3rem auto;padding:0 1rem}
select,button{font:inherit;padding:.5rem;margin:.5rem 0;max-width:100%}
.mark{background:#fff3cd;border:1px solid #c98;padding:.75rem 1rem}</style>
<main><p class="mark"><b>Simulated payment.</b> This is a sandbox: no money moves, and no card is real.</p>
<h1>${heading}</h1>
${outcome === null ? '' : `<p role="alert">${outcomeTexts[outcome] ?? outcome}</p>`}
<form method="post"><label>Test card<br><select name="card">${choices.join('')}</select></label><br>
<label>Where the bank asks<br><select name="confirm"><option value="yes">confirm</option>
<option value="no">do not confirm</option></select></label><br>
<button>${amount === null ? 'Save' : 'Pay'}</button></form>
<p><a href="${String(session['cancel_url']).replaceAll('&', '&amp;')}">Back</a></p></main></html>`;
}
