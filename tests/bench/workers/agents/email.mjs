// In the place of the module `cloudflare:email`, which workerd does not have; the SDK
// imports it and needs it only to send mail.

export class EmailMessage {}
