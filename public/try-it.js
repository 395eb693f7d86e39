// Starts Swagger UI on the description of the gateway, or of the portal where the address says so. Requests go to the
// host of this page: the policy allows no other, and the description may name another name of it.
const root = document.getElementById('try-it');
const isPortal = new URLSearchParams(location.search).get('document') === 'portal';
const address = isPortal ? '/openapi.json' : '/v1/openapi.json';

for (const link of document.querySelectorAll('[data-document]'))
  if (link.dataset.document === address) link.setAttribute('aria-current', 'page');

try {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answers ${answer.status}`);
  const spec = await answer.json();
  spec.servers = [{ url: location.origin }];
  window.SwaggerUIBundle({
    spec,
    domNode: root,
    deepLinking: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    // Nothing is asked of other hosts.
    validatorUrl: null,
    supportedSubmitMethods: ['get', 'post', 'patch', 'delete', 'head'],
  });
} catch {
  root.textContent = root.dataset.failed;
}
