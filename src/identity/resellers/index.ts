export { isProven } from './host-proof';
export { HostProofs } from './host-proofs.service';
export { type ResellerDomain, ResellerDomains, wrongLogo } from './reseller-domains.service';
